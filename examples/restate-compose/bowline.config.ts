import { defineServerConfig } from '@bowline/server/config'

export default defineServerConfig({
  agents: './agents.ts',
  auth: {
    // `token create` prints the hash. It is no secret; the token is.
    tokens: [
      {
        id: 'web',
        hash: `sha256:${process.env['TOKEN_SHA256']}`,
        tenant: 'acme',
        scopes: ['sessions:read', 'sessions:write', 'approvals'],
      },
    ],
  },
})
