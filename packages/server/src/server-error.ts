import { isMarked } from '@bowline/llm/arguments'

const marker = Symbol.for('bowline.server.error')

/** Code of a `ServerError`: `invalid-config` for options, `invalid-input` for arguments of a call. */
export type ServerErrorCode = 'invalid-config' | 'invalid-input'

/** Error of misuse by the programmer. A faulty request gets a problem as its answer instead. */
export class ServerError extends Error {
  override readonly name = 'ServerError'
  readonly code: ServerErrorCode
  readonly [marker] = true

  constructor(code: ServerErrorCode, message: string) {
    super(message)
    this.code = code
  }

  /** Returns true for a `ServerError`, also from another installed copy of this package. */
  static isInstance(value: unknown): value is ServerError {
    return isMarked(value, marker)
  }
}
