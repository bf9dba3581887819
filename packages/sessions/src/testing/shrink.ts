/** Returns the smallest value that it finds which still fails, as `fails` says. `tries` bounds how often `fails` is asked. */
export async function shrink<T>(value: T, smallerThan: (value: T) => Iterable<T>, fails: (smaller: T) => Promise<boolean>, tries: number): Promise<T> {
  let smallest = value
  let left = tries
  for (let found = true; found && left > 0; ) {
    found = false
    for (const candidate of smallerThan(smallest)) {
      if (left-- <= 0) break
      if (!(await fails(candidate))) continue
      smallest = candidate
      found = true
      break
    }
  }
  return smallest
}
