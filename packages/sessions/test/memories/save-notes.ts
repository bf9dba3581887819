import type { Memories } from '@bowline/sessions'

/** Saves notes of its own and notes that others save too, all at once. A repetition changes nothing. */
export async function saveNotes(memories: Memories, user: string, name: string, times: number): Promise<void> {
  await Promise.all(
    Array.from({ length: times }, async (_, n) => {
      await memories.save({ user }, { key: `${name}-${n}`, text: `Note ${n} of ${name}.` }, { idempotencyKey: `${name}-${n}` })
      await memories.save({ user }, { key: `shared-${n}`, text: `Of ${name}.` }, { idempotencyKey: `shared-${name}-${n}` })
    }),
  )
}
