import { JwtVerifier } from "aws-jwt-verify";

const [{ issuer, audience, jwks }] = JSON.parse(process.env.ISSUERS);
const jwksUri = "https://localhost/keys";
const verifier = JwtVerifier.create({ issuer, audience, jwksUri });
verifier.cacheJwks(jwks);

/** Lets a request in only with a token of the product's kind. Verifies the token with the product's library. */
export const verified = (handler) => async (event, context) => {
  await verifier.verify(event.headers.authorization.slice("Bearer ".length));
  return handler(event, context);
};
