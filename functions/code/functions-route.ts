import { catalogue } from "./catalogue.ts";

const listed = catalogue.get("functions.list");
if (!listed) throw new Error("functions.list is gone");

/** `functions.list`, which is a REST route as well. */
export const functionsRoute = listed.route;
