import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery, spanOf } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfRows } from "../../shared/table/ranked-list.ts";
import { listTags, Tag, tagsOf } from "../../shared/tags/tag.ts";

export const route = defineRoute({
  name: "tags.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/tags" },
  summary: "List tags",
  synonyms: ["labels", "categories", "show"],
  description: "The tags of the account, oldest first.",
  capability: "account.view",
  access: "read",
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(Tag, "tags").meta({ id: "TagListResponse", description: "A page of tags." }),
  ahead: ({ params, query }) => aheadOfRows(tagsOf(params.account_id), spanOf(query)),
  run: async ({ params, query }, context) => ({ ...(await listTags(params.account_id, query, context)), ...query }),
});

export const handler = http(route);
