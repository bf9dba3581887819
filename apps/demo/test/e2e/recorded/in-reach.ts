import type { Page } from 'playwright-core'

/**
 * Returns the parts of the current page that cannot be reached: controls that stay partly outside the window, or outside a box that
 * does not scroll, at every scroll position; and the page itself if it scrolls sideways.
 */
export function outOfReach(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const roundingPixels = 1
    const sideways = document.documentElement.scrollWidth - document.documentElement.clientWidth
    const controls = document.querySelectorAll<HTMLElement>(
      'button:not([tabindex="-1"]), a[href], input, select, textarea, summary, [role=tab]',
    )
    const nameOf = (element: Element): string =>
      `${element.tagName.toLowerCase()} “${element.getAttribute('aria-label') ?? element.textContent?.slice(0, 40)}”`
    const clips = (element: Element): boolean => {
      const { overflowX, overflowY } = getComputedStyle(element)
      return overflowX !== 'visible' || overflowY !== 'visible'
    }
    /** Returns true if a script has scrolled a box that a user cannot scroll. */
    const isForced = (element: Element): boolean => {
      const { overflowX, overflowY } = getComputedStyle(element)
      const hides = (overflow: string): boolean => overflow === 'hidden' || overflow === 'clip'
      return (hides(overflowX) && element.scrollLeft > 0) || (hides(overflowY) && element.scrollTop > 0)
    }
    const faultOf = (control: HTMLElement): string | undefined => {
      if (control.getClientRects().length === 0 || getComputedStyle(control).visibility === 'hidden') return undefined
      control.scrollIntoView({ block: 'nearest', inline: 'nearest' })
      const { left, right, top, bottom, width, height } = control.getBoundingClientRect()
      const boxes = [new DOMRect(0, 0, window.innerWidth, window.innerHeight)]
      for (let box = control.parentElement; box; box = box.parentElement) {
        if (isForced(box)) return `${nameOf(control)} is hidden by a box that does not scroll`
        if (box !== document.body && box !== document.documentElement && clips(box)) boxes.push(box.getBoundingClientRect())
        if (getComputedStyle(box).position === 'fixed') break
      }
      const seenWidth = Math.min(right, ...boxes.map((box) => box.right)) - Math.max(left, ...boxes.map((box) => box.left))
      const seenHeight = Math.min(bottom, ...boxes.map((box) => box.bottom)) - Math.max(top, ...boxes.map((box) => box.top))
      // If a control is taller than its box, the user scrolls to see it.
      const tallest = Math.min(...boxes.map((box) => box.height))
      const fits = seenWidth >= width - roundingPixels && seenHeight >= Math.min(height, tallest) - roundingPixels
      return fits
        ? undefined
        : `${nameOf(control)} shows ${Math.round(seenWidth)} of ${Math.round(width)} by ${Math.round(seenHeight)} of ${Math.round(height)} px`
    }
    return [
      ...(sideways > 0 ? [`the page scrolls sideways by ${sideways} px`] : []),
      ...[...controls].flatMap((control) => faultOf(control) ?? []),
    ]
  })
}
