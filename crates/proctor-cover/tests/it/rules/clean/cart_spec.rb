# frozen_string_literal: true

require "cart"

RSpec.describe Cart do
  subject(:cart) { described_class.new(items) }

  let(:items) { [] }

  describe "#total" do
    context "with items" do
      let(:items) { [Item.new("apple", 3), Item.new("pear", 2)] }

      it "returns the sum of the prices" do
        expect(cart.total).to eq(5)
      end

      it "applies the discount" do
        expect(cart.total(discount: 1)).to eq(4)
      end
    end

    context "without items" do
      it "returns zero" do
        expect(cart.total).to eq(0)
      end
    end
  end

  describe "#add" do
    let(:item) { Item.new("apple", 3) }

    it "appends the item" do
      expect { cart.add(item) }.to change(cart, :size).by(1)
    end

    it "returns the cart" do
      expect(cart.add(item)).to be(cart)
    end

    context "when the item is sold out" do
      let(:item) { Item.new("apple", 3, stock: 0) }

      it "raises an error" do
        expect { cart.add(item) }.to raise_error(Cart::SoldOut, "apple is sold out")
      end
    end
  end

  describe "#empty?" do
    it "is true for a new cart" do
      expect(cart.empty?).to be(true)
    end

    it "is false with items" do
      cart.add(Item.new("apple", 3))
      expect(cart).not_to be_empty
    end
  end
end
