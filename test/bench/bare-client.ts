import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({ region: "us-east-1" });

/** What a Lambda that only holds a client would be: the floor that a route's bundle is compared with. */
export const handler = async (): Promise<string> => client.config.serviceId;
