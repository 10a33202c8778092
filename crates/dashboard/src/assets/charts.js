// Charts of what a page has seen since it was opened. All share one time axis, and one cursor.

const POINTS = 300;
const [WIDTH, HEIGHT] = [300, 72];
const SVG = "http://www.w3.org/2000/svg";

class LiveChart extends HTMLElement {
  connectedCallback() {
    if (this.seen) return;
    this.seen = [];
    const title = document.createElement("p");
    title.className = "title";
    title.textContent = this.dataset.title;
    this.value = document.createElement("span");
    title.append(" ", this.value);
    this.svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.paths = ["ceiling", "a", "b", "cursor"].map((name) => this.svg.appendChild(make("path", { class: name })));
    const legend = document.createElement("p");
    legend.className = "faint";
    legend.textContent = this.dataset.legend;
    this.replaceChildren(title, this.svg, legend);
    document.addEventListener("frame", () => this.add());
    this.addEventListener("pointermove", (event) => point(event.offsetX / this.clientWidth));
    this.addEventListener("pointerleave", () => point(null));
    this.add();
  }

  add() {
    const { a, b, line } = this.dataset;
    this.seen.push([a, b, line].map((number) => (number === undefined ? null : Number(number))));
    if (this.seen.length > POINTS) this.seen.shift();
    this.draw(null);
  }

  draw(at) {
    const top = Math.max(1, ...this.seen.flat()) * 1.1;
    const y = (number) => HEIGHT - (number / top) * (HEIGHT - 2) - 1;
    const first = POINTS - this.seen.length;
    const path = (column) =>
      this.seen
        .map((point, index) => (point[column] === null ? "" : `${index ? "L" : "M"}${first + index} ${y(point[column])}`))
        .join("")
        .replace(/^L/, "M");
    const index = at === null ? this.seen.length - 1 : Math.round(at * POINTS) - first;
    const point = this.seen[Math.max(0, Math.min(index, this.seen.length - 1))];
    [path(2), path(0), path(1), at === null ? "" : `M${at * WIDTH} 0V${HEIGHT}`].forEach((d, of) =>
      this.paths[of].setAttribute("d", d),
    );
    this.value.textContent = point[1] ? `${point[0]} / ${point[1]}` : `${point[0]}`;
  }
}

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  return element;
}

function point(at) {
  for (const chart of document.querySelectorAll("live-chart")) chart.draw(at);
}

customElements.define("live-chart", LiveChart);
