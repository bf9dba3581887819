import { defineServerConfig } from '@bowline/server/config'

export default defineServerConfig({
  agents: './agents.ts',
  auth: { tokens: [] }, // put the line of `token create` here
  access: { assistant: { models: [] } },
})

export {}
