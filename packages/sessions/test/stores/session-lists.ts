import type { SessionQuery } from '@bowline/sessions'

export const tenant = 'tenant:acme:s:'
/** Filters that the server, the page and the commands use, with the index for each. */
export const sessionLists: readonly (readonly [title: string, index: string, query: SessionQuery])[] = [
  ['of all', 'session_list', {}],
  ['of all that have not expired', 'session_list', { expired: false }],
  ['without a parent', 'session_list', { parent: null }],
  ['that have expired', 'session_list', { expired: true }],
  ['without a run', 'session_unused', { status: null }],
  ['since a time', 'session_list', { activeSince: 1 }],
  ['of an agent', 'session_agent', { agent: 'assistant' }],
  ['with a status', 'session_status', { status: ['waiting-for-user', 'running'], expired: false }],
  ['with the status of most', 'session_list', { status: ['completed', 'failed'], parent: null }],
  ['of a parent', 'session_parent', { parent: `${tenant}a` }],
  ['of a tenant', 'session_tenant', { keyPrefix: tenant }],
  ['of a tenant without a parent', 'session_tenant', { keyPrefix: tenant, parent: null }],
  ['of a tenant that have expired', 'session_tenant', { keyPrefix: tenant, parent: null, expired: true }],
  ['of a tenant and an agent', 'session_tenant_agent', { keyPrefix: tenant, parent: null, agent: 'assistant' }],
  ['of a tenant and a parent', 'session_parent', { keyPrefix: tenant, parent: `${tenant}a` }],
  ['of a tenant with a status', 'session_tenant_status', { keyPrefix: tenant, parent: null, status: ['waiting-for-user'] }],
]
