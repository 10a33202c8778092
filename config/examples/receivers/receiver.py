"""An upstream that takes calls of dripfeed alone: it verifies their signature with the library of Standard Webhooks
(`pip install standardwebhooks`). SECRET is the bucket's `signing_secret`, LISTEN the port."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # Over the bytes as they came: JSON that was read and written again is another text.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            event = webhook.verify(body, dict(self.headers.items()))
        except WebhookVerificationError as error:
            # dripfeed dead-letters the job: what has no valid signature won't have one later.
            print(f"refused: {error}", flush=True)
            self.answer(401)
            return
        # The same for all attempts of a job: the place to drop one that was handled already.
        print(f"verified {self.headers['webhook-id']}: {event}", flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Its own lines are enough."""


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("LISTEN", 9000))), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
