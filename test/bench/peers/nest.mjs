import "reflect-metadata";
import serverlessExpress from "@codegenie/serverless-express";
import { Body, Controller, Get, Module, Param, Post, Query } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";

/** A NestJS application on Express. Its decorators are applied as TypeScript's compiled output does. */
export function serve(routes) {
  function Workspaces() {}
  function App() {}
  for (const { method, path, answer } of routes) {
    const name = `${method} ${path}`;
    const value = async (params, query, body) => (await answer({ params, query, body })).body;
    Object.defineProperty(Workspaces.prototype, name, { value });
    for (const [index, parameter] of [Param(), Query(), Body()].entries()) {
      parameter(Workspaces.prototype, name, index);
    }
    const decorate = { get: Get, post: Post }[method](path);
    decorate(Workspaces.prototype, name, Object.getOwnPropertyDescriptor(Workspaces.prototype, name));
  }
  Controller()(Workspaces);
  Module({ controllers: [Workspaces] })(App);
  let server;
  async function start() {
    const app = await NestFactory.create(App, { logger: ["error"] });
    await app.init();
    return serverlessExpress({ app: app.getHttpAdapter().getInstance() });
  }
  return async (event, context) => {
    server ??= await start();
    return server(event, context);
  };
}
