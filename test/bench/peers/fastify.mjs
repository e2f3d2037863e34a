import serverless from "@fastify/aws-lambda";
import fastify from "fastify";

/** A Fastify app behind its adapter for AWS Lambda. */
export function serve(routes) {
  const app = fastify();
  for (const { method, path, answer } of routes) {
    app[method](path, async (request, reply) => {
      const { status, body } = await answer(request);
      return reply.code(status).send(body);
    });
  }
  return serverless(app);
}
