const marker = Symbol.for('bowline.server.error')

/** Misuse by the programmer. What a request does wrong is answered with a problem instead. */
export class ServerError extends Error {
  override readonly name = 'ServerError'
  readonly code: 'invalid-config'
  readonly [marker] = true

  constructor(code: 'invalid-config', message: string) {
    super(message)
    this.code = code
  }

  /** True for a `ServerError` of any installed copy of this package. */
  static isInstance(value: unknown): value is ServerError {
    return typeof value === 'object' && value !== null && marker in value
  }
}
