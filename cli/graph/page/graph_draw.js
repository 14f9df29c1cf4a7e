"use strict";
// Draws the part of a graph that the window shows. Below some scales, texts and
// curves are left out.

const FONT = "12px system-ui, 'DejaVu Sans', sans-serif", BOLD = "600 " + FONT;
const TEXT_SCALE = 0.4, CURVE_SCALE = 0.25, STUB = 16;

const textWidths = new Map();

function textWidth(context, font, text) {
  const key = font + text;
  if (!textWidths.has(key)) {
    context.font = font;
    textWidths.set(key, context.measureText(text).width);
  }
  return textWidths.get(key);
}

function nodeWidth(context, node) {
  return Math.max(textWidth(context, BOLD, node.short), textWidth(context, FONT, node.type),
    textWidth(context, FONT, node.keptText));
}

function nodeFill(node) {
  const dark = isDark();
  if (node.kind === "input") return dark ? hsl(150, 40, 27) : hsl(150, 48, 80);
  if (node.kind === "output") return dark ? hsl(28, 60, 30) : hsl(32, 86, 78);
  const hue = node.kind === "operator" ? groupHues.get(node.short) : undefined;
  if (hue === undefined) return dark ? hsl(210, 8, 30) : hsl(210, 16, 88);
  return dark ? hsl(hue[0], 46 - 12 * hue[1], 32 - 5 * hue[1]) : hsl(hue[0], 66 - 16 * hue[1], 82 - 7 * hue[1]);
}

function roundedPath(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

// The layers that the window shows, as [first, end).
function shownLayers(layout, top, bottom) {
  const find = (y) => {
    let low = 0, high = layout.layerCount;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (layout.tops[middle] < y) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [Math.max(0, find(top) - 1), Math.min(layout.layerCount, find(bottom) + 1)];
}

class GraphPainter {
  constructor(context, layout, view, look) {
    Object.assign(this, {context, layout, view, look});
    this.fills = new Map();
  }

  draw(width, height) {
    const {context, view, layout} = this;
    this.left = view.x;
    this.right = view.x + width / view.scale;
    this.top = view.y;
    this.bottom = view.y + height / view.scale;
    [this.first, this.end] = shownLayers(layout, this.top, this.bottom);
    context.save();
    context.scale(view.scale, view.scale);
    context.translate(-view.x, -view.y);
    context.lineWidth = Math.max(1, 0.7 / view.scale);
    this.drawRegions();
    this.drawEdges();
    this.drawNodes();
    context.restore();
  }

  drawRegions() {
    const {context, layout, look, view} = this;
    for (const region of layout.graph.regions) {
      if (region.y > this.bottom || region.y + region.height < this.top) continue;
      const colour = region.label === "loop" ? look.peak : look.accent;
      roundedPath(context, region.x, region.y, region.width, region.height, 8);
      context.globalAlpha = 0.06;
      context.fillStyle = colour;
      context.fill();
      context.globalAlpha = 0.7;
      context.strokeStyle = colour;
      context.stroke();
      context.globalAlpha = 1;
      if (view.scale < TEXT_SCALE) continue;
      context.font = FONT;
      context.textBaseline = "middle";
      context.textAlign = "left";
      context.fillStyle = colour;
      context.fillText(fit(context, region.label, region.width - 16), region.x + 9, region.y + REGION_GAP / 2 + 1);
    }
  }

  drawEdges() {
    const {context, layout, look, view} = this;
    const marked = [];
    context.strokeStyle = look.edge;
    context.beginPath();
    for (let layer = Math.max(0, this.first - 1); layer < this.end; ++layer) {
      for (const segment of layout.segments[layer] ?? []) {
        if (look.isMarked(segment.edge)) marked.push(segment);
        else this.addSegment(segment, layer);
      }
    }
    context.stroke();
    if (view.scale >= CURVE_SCALE) this.drawStubs();
    if (marked.length === 0 && look.longEdges.length === 0) return;
    context.save();
    context.strokeStyle = look.accent;
    context.lineWidth = Math.max(2, 1.5 / view.scale);
    context.beginPath();
    for (const segment of marked) this.addSegment(segment, segment.from.layer);
    for (const edge of look.longEdges) this.addCurve(edge.from.item.x, edge.from.y + NODE_HEIGHT, edge.to.item.x, edge.to.y);
    context.stroke();
    context.restore();
  }

  addSegment(segment, layer) {
    const {layout} = this;
    const x0 = segment.from.x, x1 = segment.to.x;
    if (Math.max(x0, x1) < this.left || Math.min(x0, x1) > this.right) return;
    const top = layout.tops[layer];
    if (segment.from.node === null) {
      this.context.moveTo(x0, top);
      this.context.lineTo(x0, top + NODE_HEIGHT);
    }
    this.addCurve(x0, top + NODE_HEIGHT, x1, layout.tops[layer + 1]);
  }

  addCurve(x0, y0, x1, y1) {
    this.context.moveTo(x0, y0);
    if (this.view.scale < CURVE_SCALE || x0 === x1) {
      this.context.lineTo(x1, y1);
    } else {
      const middle = (y0 + y1) / 2;
      this.context.bezierCurveTo(x0, middle, x1, middle, x1, y1);
    }
  }

  // Both ends of edges that pass many layers.
  drawStubs() {
    const {context, layout, look} = this;
    context.save();
    context.strokeStyle = look.soft;
    context.setLineDash([3, 3]);
    context.beginPath();
    for (let layer = this.first; layer < this.end; ++layer) {
      for (const {node} of layout.layers[layer]) {
        if (node === null) continue;
        if (node.edgesOut.some((edge) => edge.isLong)) this.addStub(node.item.x + node.width / 2 - 12, node.y + NODE_HEIGHT, 1);
        if (node.edgesIn.some((edge) => edge.isLong)) this.addStub(node.x + 12, node.y, -1);
      }
    }
    context.stroke();
    context.restore();
  }

  addStub(x, y, direction) {
    this.context.moveTo(x, y);
    this.context.lineTo(x, y + direction * STUB);
    this.context.moveTo(x - 4, y + direction * (STUB - 4));
    this.context.lineTo(x, y + direction * STUB);
    this.context.lineTo(x + 4, y + direction * (STUB - 4));
  }

  drawNodes() {
    for (let layer = this.first; layer < this.end; ++layer) {
      for (const {node} of this.layout.layers[layer]) {
        if (node === null || node.x > this.right || node.x + node.width < this.left) continue;
        this.drawNode(node);
      }
    }
  }

  fillOf(node) {
    const key = node.kind + node.short;
    if (!this.fills.has(key)) this.fills.set(key, nodeFill(node));
    return this.fills.get(key);
  }

  drawNode(node) {
    const {context, look, view} = this;
    context.globalAlpha = look.matches !== null && !look.matches.has(node) ? 0.22 : 1;
    context.fillStyle = this.fillOf(node);
    if (view.scale < CURVE_SCALE) {
      const least = 1.5 / view.scale;
      context.fillRect(node.x, node.y, Math.max(node.width, least), Math.max(NODE_HEIGHT, least));
    } else {
      roundedPath(context, node.x, node.y, node.width, NODE_HEIGHT, node.kind === "input" || node.kind === "output" ? 20 : 6);
      context.fill();
      context.strokeStyle = look.outline;
      context.stroke();
    }
    if (view.scale >= TEXT_SCALE) this.drawTexts(node);
    if (look.selected === node || look.pointed === node) {
      context.globalAlpha = 1;
      context.strokeStyle = look.selected === node ? look.accent : look.mark;
      context.lineWidth = Math.max(2, 2 / view.scale);
      roundedPath(context, node.x - 2, node.y - 2, node.width + 4, NODE_HEIGHT + 4, 8);
      context.stroke();
      context.lineWidth = Math.max(1, 0.7 / view.scale);
    }
    context.globalAlpha = 1;
  }

  drawTexts(node) {
    const {context, look} = this;
    const room = node.width - 16, x = node.x + node.width / 2;
    const lines = [node.short, node.type, node.keptText].filter((text) => text !== "");
    const step = lines.length === 3 ? 15 : 17;
    let y = node.y + NODE_HEIGHT / 2 - step * (lines.length - 1) / 2;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = look.ink;
    lines.forEach((text, i) => {
      context.font = i === 0 ? BOLD : FONT;
      context.fillText(cutText(context, context.font, text, room), x, y);
      y += step;
    });
  }
}

const cutTexts = new Map();

// A text with its end left out, if it is wider than the room; measured once.
function cutText(context, font, text, room) {
  if (textWidth(context, font, text) <= room) return text;
  const key = font + room + text;
  if (!cutTexts.has(key)) cutTexts.set(key, fit(context, text, room));
  return cutTexts.get(key);
}
