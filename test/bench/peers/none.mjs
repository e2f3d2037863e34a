import { missing } from "./paths.mjs";

const answer = (statusCode, body) => ({
  statusCode,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** A handler without a framework: it looks at the route that the gateway has matched and nothing else. */
export function serve({ read, list, add }) {
  return async ({ routeKey, pathParameters: { account_id: accountId, workspace_id: id }, ...event }) => {
    if (routeKey.startsWith("POST")) return answer(201, await add(accountId, JSON.parse(event.body).name));
    if (id === undefined) {
      const { page, page_size: pageSize } = event.queryStringParameters;
      return answer(200, await list(accountId, Number(page), Number(pageSize)));
    }
    const found = await read(accountId, id);
    return found ? answer(200, found) : answer(404, missing);
  };
}
