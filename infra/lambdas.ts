import { routes } from "../functions/routes.ts";

/** One Lambda function: its source file, what it may do with the table, and the requests that reach it. */
export type LambdaSpec = {
  name: string;
  /** The entry file, relative to the project; it exports `handler`. */
  file: string;
  access: "none" | "read" | "write";
  /** `$default` is what no other trigger takes. Paths are API Gateway templates. */
  triggers: readonly (`${"GET" | "POST" | "PATCH" | "DELETE"} /${string}` | "$default")[];
};

/** `auth.groups.create` → `functions/auth/groups/create.ts`; `dns_records.list` → `functions/dns-records/list.ts`. */
export const fileOf = (routeName: string): string =>
  `functions/${routeName.replaceAll(".", "/").replaceAll("_", "-")}.ts`;

/** Every Lambda of the product: one per route, and the few doors that are not routes. */
export const lambdas: readonly LambdaSpec[] = [
  ...routes.map((route): LambdaSpec => ({
    name: route.name,
    file: fileOf(route.name),
    access: route.access,
    triggers: [`${route.method} ${route.path as `/${string}`}`],
  })),
  {
    name: "code",
    file: "functions/code/handler.ts",
    access: "write",
    triggers: ["POST /v1/public/a2a", "POST /v1/public/mcp"],
  },
  {
    name: "docs",
    file: "functions/docs.ts",
    access: "none",
    triggers: ["GET /v1/public/openapi.json", "GET /docs", "GET /docs/{proxy+}"],
  },
  { name: "fallback", file: "functions/fallback.ts", access: "none", triggers: ["$default"] },
];
