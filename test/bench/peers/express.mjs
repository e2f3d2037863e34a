import express from "express";
import serverless from "serverless-http";

/** An Express app behind serverless-http. */
export function serve(routes) {
  const app = express();
  for (const { method, path, answer } of routes) {
    const parsing = method === "post" ? [express.json()] : [];
    app[method](path, ...parsing, async (request, response) => {
      const { status, body } = await answer(request);
      response.status(status).json(body);
    });
  }
  return serverless(app);
}
