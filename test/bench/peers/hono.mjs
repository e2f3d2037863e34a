import { Hono } from "hono";
import { handle } from "hono/aws-lambda";

import { itemPath, listPath, missing } from "./paths.mjs";

/** A Hono app behind its adapter for AWS Lambda that serves what it is given the work of. */
export function serve({ read, list, add }) {
  const app = new Hono();
  app.get(itemPath, async (context) => {
    const found = await read(context.req.param("account"), context.req.param("id"));
    return found ? context.json(found) : context.json(missing, 404);
  });
  if (list) {
    app.get(listPath, async (context) => {
      const { page, page_size: pageSize } = context.req.query();
      return context.json(await list(context.req.param("account"), Number(page), Number(pageSize)));
    });
  }
  if (add) {
    app.post(listPath, async (context) => {
      const { name } = await context.req.json();
      return context.json(await add(context.req.param("account"), name), 201);
    });
  }
  return handle(app);
}
