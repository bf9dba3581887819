/** The ways in which a user's function can go wrong. */
export const badKinds = [
  ...(['throws', 'throws a proxy', 'throws nothing', 'rejects', 'never answers'] as const),
  ...(['number', 'text', 'null', 'array', 'unknown keys', 'number later', 'proxy', 'bad thenable', 'bad then'] as const),
] as const
export type BadKind = (typeof badKinds)[number]

const message = 'the plug-in broke'

/** Goes wrong in this way. */
export function misbehave(kind: BadKind): unknown {
  switch (kind) {
    case 'throws':
      throw new Error(message)
    case 'throws a proxy':
      throw hostile() as Error
    case 'throws nothing':
      throw undefined as unknown as Error
    case 'rejects':
      return Promise.reject(new Error(message))
    case 'never answers':
      return new Promise(() => undefined)
    case 'number':
      return 7
    case 'text':
      return 'text'
    case 'null':
      return null
    case 'array':
      return [7]
    case 'unknown keys':
      return { unknown: 1 }
    case 'number later':
      return Promise.resolve(7)
    case 'proxy':
      return hostile()
    case 'bad thenable':
      return {
        then: () => {
          throw new Error(message)
        },
      }
    case 'bad then':
      return Object.defineProperty({}, 'then', {
        get: () => {
          throw new Error(message)
        },
      })
    default: {
      const unknown: never = kind
      return unknown
    }
  }
}

/** Returns an object that throws at every access. */
function hostile(): object {
  const refuse = (): never => {
    throw new Error(message)
  }
  return new Proxy(
    {},
    {
      get: refuse,
      has: refuse,
      ownKeys: refuse,
      getPrototypeOf: refuse,
      getOwnPropertyDescriptor: refuse,
      set: refuse,
      defineProperty: refuse,
      deleteProperty: refuse,
      isExtensible: refuse,
      preventExtensions: refuse,
      setPrototypeOf: refuse,
    },
  )
}
