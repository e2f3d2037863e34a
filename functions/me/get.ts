import { isSuperAdmin } from "../../shared/accounts/standing.ts";
import { IdentityProfile } from "../../shared/auth/principal.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "me.get",
  http: { method: "GET", path: "/v1/public/me" },
  summary: "Get the identity behind your token",
  synonyms: ["who am I", "myself", "user", "profile", "logged in", "whoami"],
  description: "Returns a short profile of the user or service account that the access token belongs to.",
  capability: null,
  open: "The answer is about the caller only.",
  access: "read",
  output: IdentityProfile,
  run: async (_, { table, principal, now }) => ({
    ...principal,
    is_super_admin: await isSuperAdmin(table, principal, now()),
  }),
});

export const handler = http(route);
