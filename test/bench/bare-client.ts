import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({ region: "us-east-1" });

/** A Lambda that only holds a client. It is the floor with which a route's bundle is compared. */
export const handler = async (): Promise<string> => client.config.serviceId;
