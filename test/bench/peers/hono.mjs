import { Hono } from "hono";
import { handle } from "hono/aws-lambda";

/** A Hono app behind its adapter for AWS Lambda. */
export function serve(routes) {
  const app = new Hono();
  for (const { method, path, answer } of routes) {
    app[method](path, async ({ req, json }) => {
      const input = method === "post" ? { body: await req.json() } : { query: req.query() };
      const { status, body } = await answer({ params: req.param(), ...input });
      return json(body, status);
    });
  }
  return handle(app);
}
