import { isSuperAdmin } from "../../shared/accounts/standing.ts";
import { IdentityProfile } from "../../shared/auth/principal.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "me.get",
  method: "GET",
  path: "/v1/public/me",
  summary: "Get the identity behind your token",
  description: "A compact profile of the user or service account that the access token stands for.",
  capability: null,
  open: "It tells callers only about themselves.",
  access: "read",
  output: IdentityProfile,
  run: async (_, { table, principal }) => ({ ...principal, is_super_admin: await isSuperAdmin(table, principal) }),
});

export const handler = http(route);
