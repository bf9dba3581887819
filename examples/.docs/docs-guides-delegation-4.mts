import { remoteExecutor } from '@bowline/bridge'

declare const token: string
export const far = remoteExecutor({ servers: [{ id: 'far', baseUrl: 'https://agents.example', token, agentIdPrefix: 'far.' }] })

export {}
