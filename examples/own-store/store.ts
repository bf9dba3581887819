import assert from 'node:assert/strict'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { JSONValue } from '@bowline/llm'
import { SessionError, type CasResult, type StateStore, type Versioned } from '@bowline/sessions'

/** Throws if the value is not JSON, or if JSON would change it: a `Date`, `NaN`, a function. */
function textOf(value: JSONValue): string {
  try {
    const text = JSON.stringify(value)
    assert.deepEqual(JSON.parse(text), value)
    return text
  } catch (cause) {
    throw new SessionError('invalid-input', 'The value must be JSON, without anything that JSON would change.', { cause })
  }
}

/** Stores values in another store, encrypted with AES-256-GCM. Ids and times stay readable. */
export function encryptedStateStore(inner: StateStore, key: Uint8Array): StateStore {
  const seal = (value: JSONValue): string => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', key, nonce)
    return Buffer.concat([nonce, cipher.update(textOf(value), 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
  }

  const unseal = <Sealed extends Versioned>(record: Sealed): Sealed => {
    try {
      const bytes = Buffer.from(record.value as string, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16))
      const text = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8')
      return { ...record, value: JSON.parse(text) as JSONValue }
    } catch (cause) {
      // A record that cannot be decrypted must not look like a missing one.
      throw new SessionError('store-corrupt', 'A record cannot be decrypted with this key.', { cause })
    }
  }

  const unsealResult = (result: CasResult): CasResult =>
    !result.ok && result.current ? { ...result, current: unseal(result.current) } : result

  return {
    async get(space, id) {
      const read = await inner.get(space, id)
      return read.status === 'found' ? { ...read, value: unseal(read.value) } : read
    },
    async compareAndSet(space, id, expected, value, options) {
      return unsealResult(await inner.compareAndSet(space, id, expected, seal(value), options))
    },
    async delete(space, id, expected) {
      return unsealResult(await inner.delete(space, id, expected))
    },
    async list(space, query) {
      const page = await inner.list(space, query)
      return { ...page, items: page.items.map(unseal) }
    },
    touch: (space, id, ttlMs) => inner.touch(space, id, ttlMs),
    sweep: (limit) => inner.sweep(limit),
    close: () => inner.close(),
  }
}
