/** Returns the smallest value found for which `fails` is still true. `tries` limits the number of calls of `fails`. */
export async function shrink<T>(
  value: T,
  smallerThan: (value: T) => Iterable<T>,
  fails: (smaller: T) => Promise<boolean>,
  tries: number,
): Promise<T> {
  let smallest = value
  let left = tries
  for (let found = true; found && left > 0;) {
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
