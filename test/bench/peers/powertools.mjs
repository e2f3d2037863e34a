import { Router } from "@aws-lambda-powertools/event-handler/http";

import { itemPath, listPath, missing } from "./paths.mjs";

/** The event handler of Powertools for AWS Lambda, which serves what it is given the work of. */
export function serve({ read, list, add }) {
  const app = new Router();
  app.get(itemPath, async ({ params }) => {
    const found = await read(params.account, params.id);
    return found ?? { statusCode: 404, body: JSON.stringify(missing) };
  });
  if (list) {
    app.get(listPath, async ({ params, req }) => {
      const query = new URL(req.url).searchParams;
      return list(params.account, Number(query.get("page")), Number(query.get("page_size")));
    });
  }
  if (add) {
    app.post(listPath, async ({ params, req }) => {
      const { name } = await req.json();
      return Response.json(await add(params.account, name), { status: 201 });
    });
  }
  return (event, context) => app.resolve(event, context);
}
