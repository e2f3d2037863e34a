import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfList } from "../../shared/table/ranked-list.ts";
import { addTag, NewTag, Tag, tagsOf } from "../../shared/tags/tag.ts";

export const route = defineRoute({
  name: "tags.add",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/tags", status: 201 },
  summary: "Create a tag",
  synonyms: ["label", "category", "new", "create", "mark", "organize", "group"],
  description: "To put the tag on a domain, use `domains.update`.",
  capability: "tag.manage",
  access: "write",
  params: AccountParams,
  body: NewTag,
  output: Tag,
  problems: ["tag_name_taken", "limit_reached"],
  ahead: ({ params }) => aheadOfList(tagsOf(params.account_id)),
  run: ({ params, body }, context) => addTag(params.account_id, body, context),
});

export const handler = http(route);
