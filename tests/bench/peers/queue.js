// What both roles share.

export const NAME = 'jobs'

// A unix socket. Workers want no limit of retries.
export const connection = redis => ({ path: redis.replace(/^unix:\/\//, ''), maxRetriesPerRequest: null })

// As the roles of dripfeed do with `--until-stdin-ends`.
export const endWithStdin = () => process.stdin.on('end', () => process.exit()).resume()
