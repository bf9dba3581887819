import type { BridgeEvent } from '../../agent.ts'

const roomBytes = 256 * 1024

/**
 * Events of one prompt that its reader has not read yet. If the queue is full, the writer waits, which stops reading from the
 * worker's pipe.
 */
export interface EventQueue {
  /** Returns undefined if there is room for more, else a promise that resolves once there is. */
  push(event: BridgeEvent, bytes: number): Promise<void> | undefined
  end(error?: unknown): void
  /** Discards all further events: there is no reader any more. */
  leave(): void
  next(): Promise<IteratorResult<BridgeEvent, undefined>>
}

export function createEventQueue(): EventQueue {
  const events: { readonly event: BridgeEvent; readonly bytes: number }[] = []
  let held = 0
  let closed: { readonly error?: unknown } | undefined
  let wakeReader: (() => void) | undefined
  let room: PromiseWithResolvers<void> | undefined

  function makeRoom(): void {
    room?.resolve()
    room = undefined
  }

  function close(end: { readonly error?: unknown }): void {
    closed ??= end
    wakeReader?.()
    makeRoom()
  }

  return {
    push(event, bytes) {
      if (closed) return undefined
      events.push({ event, bytes })
      held += bytes
      wakeReader?.()
      if (held < roomBytes) return undefined
      room ??= Promise.withResolvers()
      return room.promise
    },
    end: (error) => close(error === undefined ? {} : { error }),
    leave() {
      events.length = 0
      close({})
    },
    async next() {
      while (events.length === 0) {
        if (closed) {
          if ('error' in closed) throw closed.error
          return { done: true, value: undefined }
        }
        await new Promise<void>((resolve) => (wakeReader = resolve))
      }
      const { event, bytes } = events.shift() as (typeof events)[number]
      held -= bytes
      if (held < roomBytes) makeRoom()
      return { done: false, value: event }
    },
  }
}
