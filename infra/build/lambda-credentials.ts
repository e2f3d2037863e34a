type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

/**
 * Replaces @aws-sdk/credential-provider-node in the bundles. Lambda passes the credentials of a function's role only in
 * environment variables. The SDK also looks in profiles, SSO, STS and metadata services. The code for these places
 * would take 130 kB and a quarter of the start-up time.
 */
export const defaultProvider = () => async (): Promise<Credentials> => {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) throw new Error("There are no AWS credentials in the environment.");
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
  };
};
