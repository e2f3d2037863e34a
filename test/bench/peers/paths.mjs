/** Where all peers serve workspaces; `:account` and `:id` are how their routers write parameters. */
export const listPath = "/v1/public/accounts/:account/workspaces";
export const itemPath = `${listPath}/:id`;

export const missing = { code: "not_found", status: 404, title: "Not found" };
