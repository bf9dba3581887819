import { isMarked } from '@bowline/llm/arguments'

const marker = Symbol.for('bowline.server.error')

/** `invalid-config`: of what a server or a part is made with. `invalid-input`: of a call. */
export type ServerErrorCode = 'invalid-config' | 'invalid-input'

/** Misuse by the programmer. What a request does wrong is answered with a problem instead. */
export class ServerError extends Error {
  override readonly name = 'ServerError'
  readonly code: ServerErrorCode
  readonly [marker] = true

  constructor(code: ServerErrorCode, message: string) {
    super(message)
    this.code = code
  }

  /** True for a `ServerError` of any installed copy of this package. */
  static isInstance(value: unknown): value is ServerError {
    return isMarked(value, marker)
  }
}
