/** State of a stream. `nextTryAt` is in epoch milliseconds. */
export type Connection =
  | { readonly state: 'idle' | 'connecting' | 'open' | 'closed' }
  | { readonly state: 'waiting'; readonly nextTryAt: number }
