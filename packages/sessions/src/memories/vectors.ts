import { inputChecks } from '../arguments.ts'
import type { Embed } from './types.ts'

const mostNumbers = 8_192
const isVector = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.length <= mostNumbers && value.every((item) => Number.isFinite(item))

/** Calls `embed` for one text. Throws `invalid-input` if the answer is not a vector. */
export async function vectorOf(embed: Embed, text: string, abortSignal: AbortSignal | undefined): Promise<Int8Array> {
  const vectors: unknown = await embed([text], abortSignal ? { abortSignal } : {})
  inputChecks.checkRequired(
    'embed()',
    vectors,
    'a list with one vector for each text',
    (given) => Array.isArray(given) && given.length === 1,
  )
  const [vector] = vectors as readonly unknown[]
  inputChecks.checkRequired('embed()[0]', vector, `a list of 1 to ${mostNumbers} numbers`, isVector)
  return bytesOf(vector as readonly number[])
}

/** Reduces each number to one byte. Only directions are compared, so the length of the vector is not kept. */
function bytesOf(vector: readonly number[]): Int8Array {
  const highest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0)
  return Int8Array.from(vector, (number) => (highest === 0 ? 0 : Math.round((number / highest) * 127)))
}

export function printVector(vector: Int8Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}

/** Returns the cosine of the angle between the vectors. Returns 0 if their lengths differ, because then different models have made them. */
export function similarity(left: Int8Array, printed: string): number {
  const right = new Int8Array(Buffer.from(printed, 'base64'))
  if (left.length !== right.length) return 0
  let [product, leftSquares, rightSquares] = [0, 0, 0]
  for (const [place, a] of left.entries()) {
    const b = right[place] ?? 0
    product += a * b
    leftSquares += a * a
    rightSquares += b * b
  }
  return product === 0 ? 0 : product / Math.sqrt(leftSquares * rightSquares)
}
