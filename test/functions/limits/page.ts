import { document, operations } from "../../../infra/docs-pages/reference/operations.ts";

type Schema = {
  $ref?: string;
  maxItems?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
};

const { schemas } = document.components as unknown as { schemas: Record<string, Schema> };

/** The lists in a schema that have a `maxItems`: the path and the limit of each. */
function listsIn(schema: Schema, path: string): [path: string, most: number][] {
  const referenced = schema.$ref?.split("/").at(-1);
  const resolved = referenced === undefined ? schema : (schemas[referenced] ?? {});
  const { maxItems, properties = {}, items, anyOf = [] } = resolved;
  return [
    ...(maxItems === undefined ? [] : [[path, maxItems] as [string, number]]),
    ...Object.entries(properties).flatMap(([name, one]) => listsIn(one, path === "" ? name : `${path}.${name}`)),
    ...(items ? listsIn(items, path) : []),
    ...anyOf.flatMap((one) => listsIn(one, path)),
  ];
}

/** The rows of the page about limits with the operations of each class except the default class. */
export const classTable = (): string[][] =>
  ["search", "sensitive", "outbound"].map((name) => {
    const ids = [...operations.values()].filter(({ route }) => route.limit === name).map(({ id }) => `\`${id}\``);
    return [`\`${name}\``, ids.join(", ")];
  });

/** The rows of the page about limits with the lists in request bodies that have a limit. */
export const listTable = (): string[][] =>
  Object.values(document.paths ?? {})
    .flatMap((methods) => Object.values(methods as Record<string, unknown>))
    .flatMap((given) => {
      const { operationId, requestBody } = given as {
        operationId: string;
        requestBody?: { content: Record<string, { schema: Schema }> };
      };
      const schema = requestBody?.content["application/json"]?.schema;
      const lists = schema ? listsIn(schema, "") : [];
      return lists.map(([path, most]) => [`\`${operationId}\``, `\`${path}\``, String(most)]);
    });
