// bowline.config.ts
import { defineServerConfig } from '@bowline/server/config'

export default defineServerConfig({
  agents: './agents.ts', // every export of this module that is an agent is served
  store: 'sqlite:/var/lib/bowline/data.db',
  auth: { tokens: [] }, // put the lines of `token create` here
  hosts: ['agents.example.com'], // names in the Host header; others are refused
  trustedProxies: ['127.0.0.1'], // the proxy on this machine
})

export {}
