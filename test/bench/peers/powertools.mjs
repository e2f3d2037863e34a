import { Router } from "@aws-lambda-powertools/event-handler/http";

/** The event handler of Powertools for AWS Lambda. */
export function serve(routes) {
  const app = new Router();
  for (const { method, path, answer } of routes) {
    app[method](path, async ({ params, req }) => {
      const input =
        method === "post" ? { body: await req.json() } : { query: Object.fromEntries(new URL(req.url).searchParams) };
      const { status, body } = await answer({ params, ...input });
      return status === 200 ? body : Response.json(body, { status });
    });
  }
  return (event, context) => app.resolve(event, context);
}
