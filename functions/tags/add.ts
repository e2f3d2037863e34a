import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { addTag, NewTag, Tag } from "../../shared/tags/tag.ts";

export const route = defineRoute({
  name: "tags.add",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/tags",
  summary: "Create a tag",
  description: "Domains get it by `domains.update`.",
  capability: "tag.manage",
  access: "write",
  params: AccountParams,
  body: NewTag,
  status: 201,
  output: Tag,
  problems: ["tag_name_taken", "limit_reached"],
  run: ({ params, body }, context) => addTag(params.account_id, body, context),
});

export const handler = http(route);
