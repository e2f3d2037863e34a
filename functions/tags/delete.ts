import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import { deleteTag, TagParams, aheadOfTag } from "../../shared/tags/tag.ts";

export const route = defineRoute({
  name: "tags.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/tags/{tag_id}" },
  summary: "Delete a tag",
  synonyms: ["label", "category", "remove"],
  description: "Removes the tag from every domain that has it.",
  capability: "tag.manage",
  access: "write",
  params: TagParams,
  output: Empty,
  ahead: ({ params }) => aheadOfTag(params.account_id, params.tag_id),
  run: async ({ params }, context) => {
    await deleteTag(params.account_id, params.tag_id, context);
    return {};
  },
});

export const handler = http(route);
