describe Cache do
  let(:cache) { Cache.new }

  it "must expire entries" do # !19
    cache.write(:a, 1, expires_at: 5.minutes.ago) # !27
    expect(cache.read(:a)).to be_nil
  end

  it "stores the value under a private key" do
    cache.write(:a, 1)
    expect(cache.instance_variable_get(:@store)).to eq(a: 1) # !1
  end

  it "computes the key" do
    expect(subject.send(:key_for, :a)).to eq("cache/a") # !1
  end

  it "sets a random token" do
    token = SecureRandom.hex # !27
    cache.write(:token, token)
    expect(cache.read(:token)).to eq(token)
  end

  it "reads twice" do
    cache.write(:a, 1)
    begin # !15
      expect(cache.read!(:a)).to eq(1)
    rescue KeyError
      raise "not there"
    end
  end

  it "reads many" do
    cache.write(:a, 1)
    puts cache.inspect # !28
    expect(cache.read(:a)).to eq(1)
  end

  it "has the same size as itself" do
    expect(cache.size).to eq(cache.size) # !2
  end

  it "ignores the block", focus: true do # !28
    expect(cache.fetch(:x) { 1 }).to eq(1)
  end

  context "when full" do
    before do
      10.times { |n| cache.write(n, n) }
      expect(cache).to be_full # !11
    end

    it "drops the oldest entry" do
      cache.write(:new, 1)
      expect(cache.read(0)).to be_nil
    end
  end
end
