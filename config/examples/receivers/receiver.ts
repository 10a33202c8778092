// An upstream that takes calls of dripfeed alone: it verifies their signature with the library of Standard Webhooks
// (`npm install standardwebhooks`). SECRET is the bucket's `signing_secret`, LISTEN the port.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.SECRET ?? "");

const server = createServer(async (request, response) => {
  // Over the bytes as they came: JSON that was read and written again is another text.
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const headers = request.headers as Record<string, string>;
  try {
    const event = webhook.verify(Buffer.concat(chunks), headers);
    // The same for all attempts of a job: the place to drop one that was handled already.
    console.log(`verified ${headers["webhook-id"]}: ${JSON.stringify(event)}`);
    response.writeHead(204).end();
  } catch (error) {
    // dripfeed dead-letters the job: what has no valid signature won't have one later.
    console.log(`refused: ${error}`);
    response.writeHead(401).end();
  }
});

server.listen(Number(process.env.LISTEN ?? 9000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
