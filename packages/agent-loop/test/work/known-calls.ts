/** Makes a known number of calls, to verify that they are counted: by a loop that V8 would optimize, and by awaits. */
export async function knownCalls(calls: number, awaits: number): Promise<number> {
  let sum = 0
  for (let call = 0; call < calls; call += 1) sum = small(sum)
  await waiting(awaits)
  return sum
}

function small(value: number): number {
  return value + 1
}

async function waiting(awaits: number): Promise<void> {
  for (let each = 0; each < awaits; each += 1) await Promise.resolve()
}
