/** A handler without a framework. It looks only at the route that the gateway has matched. */
export function serve(routes) {
  const answers = new Map(
    routes.map(({ method, path, answer }) => [`${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`, answer]),
  );
  return async ({ routeKey, pathParameters: params, queryStringParameters: query, body: text }) => {
    const { status, body } = await answers.get(routeKey)({ params, query, body: text && JSON.parse(text) });
    return { statusCode: status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  };
}
