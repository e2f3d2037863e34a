import express from "express";
import serverless from "serverless-http";

import { itemPath, listPath, missing } from "./paths.mjs";

/** An Express app behind serverless-http that serves what it is given the work of. */
export function serve({ read, list, add }) {
  const app = express();
  app.get(itemPath, async ({ params }, response) => {
    const found = await read(params.account, params.id);
    response.status(found ? 200 : 404).json(found ?? missing);
  });
  if (list) {
    app.get(listPath, async ({ params, query }, response) => {
      response.json(await list(params.account, Number(query.page), Number(query.page_size)));
    });
  }
  if (add) {
    app.post(listPath, express.json(), async ({ params, body }, response) => {
      response.status(201).json(await add(params.account, body.name));
    });
  }
  return serverless(app);
}
