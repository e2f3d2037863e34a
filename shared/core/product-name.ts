/** What agents, people and pages call the product; the OpenAPI document has the title that its specification gives it. */
export const productName = "Hosted Mail API";
